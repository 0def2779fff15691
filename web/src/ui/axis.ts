// Ticks of chart axes and their texts.

import {count, number} from '../format';

const A_DAY = 86_400;

// Steps for durations, in seconds; tick texts have no fractions of a second.
const SHORT = [1, 2, 5, 10, 15, 30, ...[1, 2, 5, 10, 15, 30].map(n => n * 60), ...[1, 2, 3, 6, 12].map(n => n * 3600)];

export const LENGTHS = [...SHORT, ...[1, 2, 4, 7, 14, 28, 56, 112, 224, 448].map(n => n * A_DAY)];

// Steps for clock time. uPlot treats 30 days as a month and 365 days as a year.
export const CALENDAR = [...SHORT, ...[1, 2, 4, 7, 14, 30, 60, 90, 180, 365, 730, 1825].map(n => n * A_DAY)];

const SHORT_LOG = 1.6;  // Maximum number of decades at which 2 and 5 also have texts.
const MOST_POWERS = 8;

// Ticks of a log axis that have a text; null: no text.
export function logTicks(ticks: number[]): (number | null)[] {
  const decades = Math.log10(ticks[ticks.length - 1] / ticks[0]);
  const every = Math.max(1, Math.ceil(decades / MOST_POWERS));
  const named = decades <= SHORT_LOG ? [1, 2, 5] : [1];
  return ticks.map(x => {
    const power = Math.floor(Math.log10(x) + 1e-9);
    return power % every === 0 && named.includes(Math.round(x / 10 ** power)) ? x : null;
  });
}

// Text with enough digits to distinguish ticks: 0.6931 and 0.6932 for a step of 0.0001.
export function tickText(y: number, step: number): string {
  for (let digits = 0; digits <= 8; digits++) {
    const parts = step * 10 ** digits;
    if (parts > 0 && Math.abs(parts - Math.round(parts)) < 1e-6 * parts && Math.round(parts) > 0) {
      const value = Math.abs(y) < step / 2 ? 0 : y;
      return digits === 0 ? count(Math.round(value))
        : value.toLocaleString('en', {maximumFractionDigits: digits});
    }
  }
  return number(y);
}
