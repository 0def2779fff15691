// With these a key is the browser's: Alt and an arrow go back, for instance.
export const isBrowsers = (event: KeyboardEvent): boolean => event.altKey || event.ctrlKey || event.metaKey;
