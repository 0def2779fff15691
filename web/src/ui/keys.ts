// Whether the key is a browser shortcut, such as Alt+Left for "back".
export const isBrowsers = (event: KeyboardEvent): boolean => event.altKey || event.ctrlKey || event.metaKey;
