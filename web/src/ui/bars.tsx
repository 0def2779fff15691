// Categories side by side: upright where their names are short, otherwise lying with room for the names.

import {number} from '../format';
import {color, useTheme} from '../theme';
import type {Plot} from '../types';
import {type BarSeries, barsOf, filled} from './series';

const SHORT = 4;        // Letters.
const MOST_UPRIGHT = 31;

interface Props {
  categories: string[];
  series: BarSeries[];
  most: number;
}

const part = (value: number | null | undefined, most: number): string =>
  `${most > 0 ? Math.min(100, Math.abs(value ?? 0) / most * 100) : 0}%`;

function words(props: Props, category: number, one: BarSeries): string {
  const y = one.y[category];
  const name = props.series.length > 1 ? `${one.name}, ` : '';
  const [low, high] = [one.low?.[category] ?? NaN, one.high?.[category] ?? NaN];
  const ends = one.low && one.high ? ` (${number(low)} to ${number(high)})` : '';
  return `${name}${props.categories[category]}: ${y === null || y === undefined ? 'nothing' : number(y) + ends}`;
}

function Upright(props: Props) {
  return (
    <div class="bars-up">
      {props.categories.map((category, i) => (
        <div class="bars-up-one">
          <div class="bars-up-track">
            {props.series.map((one, k) => (
              <span class="bar-fill" role="img" aria-label={words(props, i, one)} title={words(props, i, one)}
                style={{height: part(one.y[i], props.most), background: color(k)}} />))}
          </div>
          <span class="bars-up-name">{category}</span>
        </div>))}
    </div>
  );
}

function Whisker(props: {one: BarSeries; at: number; most: number}) {
  const {one, at, most} = props;
  const [low, high] = [one.low?.[at], one.high?.[at]];
  if (low === null || low === undefined || high === null || high === undefined || most <= 0) return null;
  return <span class="whisker" style={{left: part(low, most), width: part(high - low, most)}} />;
}

function Lying(props: Props) {
  return (
    <div class="bars-flat">
      {props.categories.map((category, i) => (
        <>
          <span class="bars-flat-name" title={category}>{category}</span>
          <div class="bars-flat-tracks">
            {props.series.map((one, k) => (
              <div class="bars-flat-line" role="img" aria-label={words(props, i, one)} title={words(props, i, one)}>
                <span class="bars-flat-track">
                  <span class="bar-fill" style={{width: part(one.y[i], props.most), background: color(k)}} />
                  <Whisker one={one} at={i} most={props.most} />
                </span>
                <span class="bars-flat-value">{one.y[i] === null ? '' : number(one.y[i] ?? NaN)}</span>
              </div>))}
          </div>
        </>))}
    </div>
  );
}

export function Bars(props: {plot: Plot}) {
  const plot = filled(props.plot);
  useTheme();
  const categories = plot.categories ?? [];
  const {series, most} = barsOf(plot);
  const up = categories.length <= MOST_UPRIGHT && categories.every(name => name.length <= SHORT) && series.length <= 3;
  return (
    <div class="bars">
      {series.length > 1 && <p class="bars-legend">{series.map((one, k) => (
        <span><span class="mark" style={{background: color(k)}} aria-hidden="true" />{one.name}</span>))}</p>}
      <p class="muted bars-most">{plot.y_label}{up && most > 0 ? `, up to ${number(most)}` : ''}
        {series.some(one => one.low) ? '; the thin line spans 95%' : ''}</p>
      {up ? <Upright categories={categories} series={series} most={most} />
        : <Lying categories={categories} series={series} most={most} />}
      {up && plot.x_label && <p class="muted bars-most bars-x">{plot.x_label}</p>}
    </div>
  );
}
