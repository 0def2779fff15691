// Sorting and searching of names.

// Natural order: "n2" before "n10".
export const inOrder = new Intl.Collator('en', {numeric: true, sensitivity: 'base'}).compare;

// Returns a predicate: whether a text contains every typed word, in any order and case.
export function finder(typed: string): (text: string) => boolean {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  return text => {
    const low = text.toLowerCase();
    return words.every(word => low.includes(word));
  };
}
