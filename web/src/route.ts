// The current screen and its parameters, stored after the # of the URL: "#/queue?state=running".

import {useEffect, useState} from 'preact/hooks';

export interface Route {
  screen: string;
  parts: string[];  // Further path segments, decoded: ["12"] for "#/job/12".
  query: Record<string, string>;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function readRoute(hash: string): Route {
  const [path, after = ''] = hash.replace(/^#\/?/, '').split('?');
  const parts = path.split('/').filter(Boolean).map(decoded);
  const query: Record<string, string> = {};
  for (const [key, value] of new URLSearchParams(after)) query[key] = value;
  return {screen: parts[0] ?? '', parts: parts.slice(1), query};
}

export function href(screen: string, parts: (string | number)[] = [], query: Record<string, string> = {}): string {
  const path = ['#', screen, ...parts.map(part => encodeURIComponent(String(part)))].join('/');
  const given = Object.entries(query).filter(([, value]) => value !== '');
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}

export function go(address: string): void {
  location.hash = address;
}

// Changes the query of the current screen without a new entry in the browser history.
export function setQuery(route: Route, change: Record<string, string>): void {
  const address = href(route.screen, route.parts, {...route.query, ...change});
  history.replaceState(null, '', address);
  window.dispatchEvent(new HashChangeEvent('hashchange'));
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => readRoute(location.hash));
  useEffect(() => {
    const hook = () => setRoute(readRoute(location.hash));
    window.addEventListener('hashchange', hook);
    hook();  // The hash may have changed since the first render.
    return () => window.removeEventListener('hashchange', hook);
  }, []);
  return route;
}
