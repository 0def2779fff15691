// Names as people expect them in lists and look for them.

// "n2" before "n10".
export const inOrder = new Intl.Collator('en', {numeric: true, sensitivity: 'base'}).compare;

// Whether a text has every word that was typed, wherever they stand.
export function finder(typed: string): (text: string) => boolean {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  return text => {
    const low = text.toLowerCase();
    return words.every(word => low.includes(word));
  };
}
