// Numbers and durations for people, and the ticks of axes. Nothing here touches the page but
// textWidth, which needs its font.

const NOTHING = '\u2013';

// "12,345.6": about five figures, all of them before the point.
function numberText(value) {
  if (value === null || !Number.isFinite(value)) return NOTHING;
  if (value === 0) return '0';
  const whole = Math.floor(Math.log10(Math.abs(value))) + 1;
  if (whole > 15 || whole < -5) return value.toPrecision(4);
  return fixedText(Number(value.toFixed(Math.min(12, Math.max(0, 5 - whole)))));
}

// With separators; at least so many decimals. Not by toLocaleString, which takes long to begin.
function fixedText(value, least = 0) {
  const plain = Math.abs(value) < 1e-6 ? value.toFixed(12).replace(/0+$/, '') : String(value);
  const [whole, decimals = ''] = plain.split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  const padded = decimals.padEnd(least, '0');
  return padded ? `${grouped}.${padded}` : grouped;
}

const UNITS = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];

// "2 d 6 h 30 min": nothing below `least` seconds; seconds with decimals if it is below 1.
function durationText(seconds, least = 1) {
  if (!Number.isFinite(seconds)) return NOTHING;
  const decimals = least >= 1 ? 0 : Math.min(6, Math.ceil(-Math.log10(least)));
  const unit = least >= 1 ? least : 10 ** -decimals;
  let left = Math.round(Math.abs(seconds) / unit) * unit;
  const parts = [];
  for (const [size, name] of UNITS) {
    if (size === 1 && least < 1) {
      const rest = Number(left.toFixed(decimals));
      if (rest > 0) parts.push(`${rest} s`);
      break;
    }
    const count = Math.floor(left / size + 1e-9);
    left -= count * size;
    if (count > 0) parts.push(`${fixedText(count)} ${name}`);
  }
  return parts.length === 0 ? '0' : (seconds < 0 ? '-' : '') + parts.join(' ');
}

// For tips: three figures or so, whatever the size.
function preciseDuration(seconds) {
  const size = Math.abs(seconds);
  return durationText(seconds, size < 10 ? 0.001 : size < 600 ? 0.1 : 1);
}

// 1, 2 or 5 times a power of ten, so that `count` of them or a few less cover the span.
function roundStep(span, count) {
  const rough = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const digit = rough / power;
  return power * (digit <= 1.0001 ? 1 : digit <= 2.0001 ? 2 : digit <= 5.0001 ? 5 : 10);
}

const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600,
  43200, 86400, 2 * 86400, 4 * 86400, 7 * 86400, 14 * 86400, 28 * 86400];

function timeStep(span, count) {
  const rough = span / Math.max(1, count);
  if (rough <= 0.5) return roundStep(span, count);
  return TIME_STEPS.find(step => step >= rough) || 86400 * roundStep(span / 86400, count);
}

function multiples(low, high, step) {
  const found = [];
  const slack = step * 1e-6;
  for (let i = Math.ceil((low - slack) / step); i * step <= high + slack; i++) found.push(i * step);
  return found;
}

// All ticks of an axis in the same unit: "250k", "1.5M", or whole with separators.
function tickTexts(values, step) {
  const top = Math.max(...values.map(Math.abs), 0);
  const [unit, name] = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']]
    .find(([size]) => top >= size * (size === 1e3 ? 100 : 1)) || [1, ''];
  const decimals = Math.min(12, Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9)));
  return values.map(v => v === 0 ? '0' : fixedText(Number((v / unit).toFixed(decimals)),
    decimals) + name);
}

function linearTicks(low, high, count) {
  const step = roundStep(high - low, count);
  const values = multiples(low, high, step);
  const texts = tickTexts(values, step);
  return values.map((value, i) => ({value, text: texts[i]}));
}

function timeTicks(low, high, count) {
  const step = timeStep(high - low, count);
  return multiples(low, high, step).map(value => ({value, text: durationText(value, step)}));
}

function logTicks(low, high, count) {
  const decades = Math.log10(high / low);
  if (decades < 0.8) return linearTicks(low, high, count);
  const every = Math.max(1, Math.ceil(decades / count));
  const named = decades < 1.6 ? [1, 2, 5] : [1];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (let digit = 1; digit < 10; digit++) {
      const value = Number(`${digit}e${power}`);
      if (value < low * 0.999999 || value > high * 1.000001) continue;
      const said = named.includes(digit) && power % every === 0;
      if (!said && (decades > 7 || every > 1)) continue;
      ticks.push({value, text: said ? shortText(value) : '', minor: !said});
    }
  }
  return ticks;
}

// Ticks whose texts have room: all, or every second, third... `at` gives the middle of a tick, the
// texts stay between `left` and `right`. The result has each text's begin.
function spacedTicks(ticks, at, size, left, right) {
  const texts = ticks.filter(tick => tick.text).map(tick => {
    const width = textWidth(tick.text, size);
    const begin = Math.max(left, Math.min(at(tick.value) - width / 2, right - width));
    return {...tick, width, begin};
  });
  const step = texts.length > 1 ? texts[1].value - texts[0].value : 1;
  const even = texts.every(
    (tick, i) => Math.abs(tick.value - texts[0].value - i * step) < step / 9);
  for (let every = 1; ; every++) {
    const kept = texts.filter(
      (tick, i) => (even ? Math.round(tick.value / step) : i) % every === 0);
    const fits = kept.every((tick, i) => i === 0 ||
      tick.begin >= kept[i - 1].begin + kept[i - 1].width + 9);
    if (fits) return kept;
  }
}

function shortText(value) {
  const [unit, name] = [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']].find(([u]) => value >= u) || [1, ''];
  return `${Number((value / unit).toPrecision(6))}${name}`;
}

// Where values go between two pixels, and back.
function makeScale(kind, low, high, from, to) {
  const warp = kind === 'log' ? Math.log10 : v => v;
  const unwarp = kind === 'log' ? v => 10 ** v : v => v;
  const [a, b] = [warp(low), warp(high)];
  const at = value => from + (warp(value) - a) / (b - a) * (to - from);
  const back = pixel => unwarp(a + (pixel - from) / (to - from) * (b - a));
  const ticks = count => (kind === 'log' ? logTicks : kind === 'time' ? timeTicks : linearTicks)(
    low, high, count);
  return {kind, low, high, at, back, ticks};
}

// Asking the page for its font after every change would make it compute all its styles anew.
const measuring = document.createElement('canvas').getContext('2d');
const family = getComputedStyle(document.body).fontFamily;
const knownWidths = new Map();
function textWidth(text, size) {
  const key = `${size} ${text}`;
  let width = knownWidths.get(key);
  if (width === undefined) {
    measuring.font = `${size}px ${family}`;
    width = measuring.measureText(text).width;
    knownWidths.set(key, width);
  }
  return width;
}

// The text, or its beginning and an ellipsis, within so many pixels.
function shortened(text, size, room) {
  if (textWidth(text, size) <= room) return text;
  const letters = [...text];
  let [fits, not] = [0, letters.length];
  while (not - fits > 1) {
    const middle = (fits + not) >> 1;
    const cut = letters.slice(0, middle).join('') + '\u2026';
    if (textWidth(cut, size) <= room) fits = middle; else not = middle;
  }
  return letters.slice(0, fits).join('') + '\u2026';
}
