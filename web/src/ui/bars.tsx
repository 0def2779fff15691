// Bar chart of categories: vertical bars for short names, otherwise horizontal bars with space for the names.

import type {JSX} from 'preact';
import {useRef} from 'preact/hooks';
import {number} from '../format';
import {color, useTheme} from '../theme';
import type {Plot} from '../types';
import {isBrowsers} from './keys';
import {type BarSeries, type Value, barRange, barsOf, extent, filled} from './series';
import {SeriesLegend, Values, useHidden} from './series_legend';
import {hideTip, showTip} from './tip';
import './bars.css';

const SHORT = 4;        // Characters.
const MOST_UPRIGHT = 31;
const MOST_VALUES = 12; // Maximum number of categories with values above the bars.

interface Props {
  categories: string[];
  series: BarSeries[];
  low: number;
  high: number;
  unit: string;
}

const known = (value: Value): value is number => value !== null && value !== undefined;

// Fraction of the axis between two values.
function part(props: Props, from: number, to: number): string {
  return `${props.high > props.low ? Math.min(100, Math.abs(to - from) / (props.high - props.low) * 100) : 0}%`;
}

function valueText(one: BarSeries, category: number): string {
  const [y, low, high] = [one.y[category], one.low?.[category], one.high?.[category]];
  if (!known(y)) return 'no value';
  return number(y) + (known(low) && known(high) ? ` (${number(low)} to ${number(high)})` : '');
}

function words(props: Props, category: number, one: BarSeries): string {
  const name = props.series.length > 1 ? `${one.name}, ` : '';
  return `${name}${props.categories[category]}: ${valueText(one, category)}`;
}

function tell(props: Props, category: number, x: number, y: number): void {
  const rows = props.series.map(one =>
    ({name: one.name || props.unit, color: color(one.place), value: valueText(one, category)}));
  showTip(x, y, <Values head={props.categories[category]} rows={rows} />);
}

// Handlers that show the values of a category under the pointer.
const telling = (props: Props, category: number) => ({
  onPointerMove: (event: PointerEvent) => tell(props, category, event.clientX, event.clientY),
  onPointerLeave: hideTip,
});

const STEPS: Record<string, number> = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1};

// Keyboard handlers of the chart: arrow keys move between categories and show their values. `one`: CSS class of a
// category.
function useKeys(props: Props, one: string) {
  const place = useRef(-1);
  const leave = () => {
    place.current = -1;
    hideTip();
  };
  const keyed = (event: JSX.TargetedKeyboardEvent<HTMLDivElement>) => {
    if (event.key === 'Escape') return leave();
    const by = STEPS[event.key];
    if (!by || isBrowsers(event)) return;
    event.preventDefault();
    place.current = Math.max(0, Math.min(props.categories.length - 1, place.current + by));
    const box = event.currentTarget.getElementsByClassName(one)[place.current].getBoundingClientRect();
    tell(props, place.current, box.left + box.width / 2, box.top + box.height / 2);
  };
  return {tabIndex: 0, role: 'group' as const, 'aria-label': 'Bars. Arrow keys read the values.', onKeyDown: keyed,
    onBlur: leave};
}

function Upright(props: Props) {
  const valued = props.series.length === 1 && props.categories.length <= MOST_VALUES;
  return (
    <div class={props.categories.length > MOST_VALUES ? 'bars-up crowded' : 'bars-up'}
      {...useKeys(props, 'bars-up-one')}>
      {props.categories.map((category, i) => (
        <div class="bars-up-one" {...telling(props, i)}>
          <div class="bars-up-track">
            {props.series.map(one => (
              <span class="bar-fill" role="img" aria-label={words(props, i, one)}
                style={{height: part(props, 0, one.y[i] ?? 0), background: color(one.place)}}>
                {valued && known(one.y[i]) && <span class="bars-up-value">{number(one.y[i])}</span>}
              </span>))}
          </div>
          <span class="bars-up-name">{category}</span>
        </div>))}
    </div>
  );
}

function Whisker(props: {of: Props; one: BarSeries; at: number}) {
  const {of, one, at} = props;
  const [low, high] = [one.low?.[at], one.high?.[at]];
  if (!known(low) || !known(high)) return null;
  return <span class="whisker" style={{left: part(of, of.low, low), width: part(of, low, high)}} />;
}

function Lying(props: Props) {
  return (
    <div class="bars-flat" {...useKeys(props, 'bars-flat-tracks')}>
      {props.categories.map((category, i) => (
        <>
          <span class="bars-flat-name" title={category}>{category}</span>
          <div class="bars-flat-tracks" {...telling(props, i)}>
            {props.series.map(one => {
              const y = one.y[i] ?? 0;
              return (
                <div class="bars-flat-line" role="img" aria-label={words(props, i, one)}>
                  <span class="bars-flat-track">
                    <span class="bar-fill" style={{marginLeft: part(props, props.low, Math.min(0, y)),
                      width: part(props, 0, y), background: color(one.place)}} />
                    <Whisker of={props} one={one} at={i} />
                  </span>
                  <span class="bars-flat-value">{known(one.y[i]) ? number(y) : ''}</span>
                </div>
              );
            })}
          </div>
        </>))}
    </div>
  );
}

export function Bars(props: {plot: Plot}) {
  const plot = filled(props.plot);
  useTheme();
  const hidden = useHidden();
  const categories = plot.categories ?? [];
  const all = barsOf(plot);
  if (!all.some(one => extent(one.y))) return <p class="muted">No data</p>;
  const series = all.filter(one => !hidden.has(one.place));
  const range = barRange(series);
  const up = categories.length <= MOST_UPRIGHT && categories.every(name => name.length <= SHORT) && all.length <= 3 &&
    barRange(all).low === 0;
  const drawn = {categories, series, ...range, unit: plot.y_label};
  return (
    <div class="bars">
      {all.length > 1 && <SeriesLegend hidden={hidden}
        keys={all.map(one => ({name: one.name, color: color(one.place)}))} />}
      <p class="muted bars-most">{plot.y_label}{up && range.high > 0 ? `, up to ${number(range.high)}` : ''}
        {series.some(one => one.low) ? '; the thin line is the 95% interval' : ''}</p>
      {up ? <Upright {...drawn} /> : <Lying {...drawn} />}
      {up && plot.x_label && <p class="muted bars-most bars-x">{plot.x_label}</p>}
    </div>
  );
}
