// Human-readable numbers and times.

import {serverNow} from './clock';

const whole = new Intl.NumberFormat('en');

export const count = (n: number): string => whole.format(n);

export function many(n: number, noun: string): string {
  return `${count(n)} ${noun}${n === 1 ? '' : 's'}`;
}

// A number with few digits and without exponent: 0.0123, 4.56, 78.9, 1,234.
export function number(n: number, digits = 3): string {
  if (!Number.isFinite(n)) return '';
  if (n === 0) return '0';
  const before = Math.floor(Math.log10(Math.abs(n))) + 1;
  const decimals = Math.max(0, Math.min(6, digits - before));
  return n.toLocaleString('en', {maximumFractionDigits: decimals});
}

export const percent = (part: number): string => `${Math.round(part * 100)}%`;

// A duration: "45 s", "12 min", "3 h 05 min", "2 d 4 h". Shows seconds below `fine` minutes.
export function lasting(seconds: number, fine = 10): string {
  if (!Number.isFinite(seconds)) return '';
  const s = Math.max(0, seconds);
  if (s < 10 && s !== Math.round(s)) return `${s.toFixed(1)} s`;
  if (s < 60) return `${Math.round(s)} s`;
  const minutes = Math.floor(s / 60);
  if (minutes < 60) return minutes < fine ? `${minutes} min ${Math.floor(s % 60)} s` : `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${String(minutes % 60).padStart(2, '0')} min`;
  return `${count(Math.floor(hours / 24))} d ${hours % 24} h`;
}

// Time since the start of a run, such as "2 d 6 h", rounded to `step` seconds; steps below 1 give decimals.
export function runTime(seconds: number, step = 1): string {
  const decimals = Math.max(0, Math.ceil(-Math.log10(step)));
  const s = Number(seconds.toFixed(decimals));
  if (s === 0) return '0';
  if (s < 0) return `-${runTime(-s, step)}`;
  const days = Math.floor(s / 86400);
  const [h, m] = [Math.floor(s % 86400 / 3600), Math.floor(s % 3600 / 60)];
  const parts: string[] = [];
  if (days > 0) parts.push(`${days.toLocaleString('en')} d`);
  if (h > 0 && step < 86400) parts.push(`${h} h`);
  if (m > 0 && step < 3600) parts.push(`${m} min`);
  if (s % 60 > 0 && step < 60) parts.push(`${Number((s % 60).toFixed(decimals))} s`);
  return parts.length > 0 ? parts.join(' ') : '0';
}

const clock = new Intl.DateTimeFormat(undefined, {hour: '2-digit', minute: '2-digit', hourCycle: 'h23'});
const day = new Intl.DateTimeFormat(undefined, {month: 'short', day: 'numeric'});
const full = new Intl.DateTimeFormat(undefined,
  {year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit',
    hourCycle: 'h23'});

// "14:20" for today, "Nov 3, 14:20" for another day.
export function at(unix: number, now = serverNow()): string {
  const date = new Date(unix * 1000);
  const today = new Date(now * 1000).toDateString() === date.toDateString();
  return today ? clock.format(date) : `${day.format(date)}, ${clock.format(date)}`;
}

// With seconds for today: "14:20:05"; otherwise as at(): "Nov 3, 14:20".
export function atSecond(unix: number, now = serverNow()): string {
  const [short, today] = [at(unix, now), at(now, now)];
  return short.length > today.length ? short : new Date(unix * 1000).toLocaleTimeString('en', {hourCycle: 'h23'});
}

export const exactly = (unix: number): string => full.format(new Date(unix * 1000));

export function ago(unix: number, now: number): string {
  return now - unix < 1 ? 'just now' : `${lasting(now - unix)} ago`;
}

// "14:20 to 15:05", or nothing if both ends read the same.
export const range = (from: string, to: string): string => from === to ? '' : `${from} to ${to}`;

// A predicted interval: "14:20 to 15:05", "now to 14:20", or "after 14:20" if the end is unknown.
export function band(eta: {soonest: number | null; likely: number | null; latest: number | null},
  now: number): string {
  if (eta.soonest === null) return 'no prediction';
  const from = eta.soonest - now < 30 ? 'now' : at(eta.soonest, now);
  if (eta.latest === null) return `after ${from}`;
  const to = at(eta.latest, now);
  if (eta.latest - now < 60) return 'any moment';
  return range(from, to) || `about ${to}`;
}

// Free CPUs or GiB; values below 0.01 become 0.
export const amount = (n: number): string => n < 0.01 ? '0' : number(n);

export const gib = (n: number): string => n > 0 && n < 0.1 ? `${number(n * 1024, 2)} MiB` : `${number(n)} GiB`;
