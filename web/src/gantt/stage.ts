// One chart: its canvas, data and visible window. Draws a frame only after a change.

import type {Timeline} from '../types';
import {paint} from '../theme';
import {type Bars, firstBeyond, grow} from './data';
import {type Surface, drawLit, drawRows, drawStrip, fillRect, mix, pixel} from './draw';
import {type Frame, frameOf} from './frame';
import {barAt, neighbour, rowOfBar} from './hit';
import {type Pane, TickWords, type TimeView, rowView, tickStep, ticks} from './layout';
import type {Shades} from './shades';
import {type Inks, drawWords} from './words';

const pixelsATick = (wide: number): number => wide < 420 ? 64 : 90;

export class Stage {
  rows: Pane = rowView(1);
  frame: Frame = frameOf(600, 300, true);
  now: number | null = null;
  private line: Timeline | null = null;
  private bars: Bars | null = null;
  private shades: Shades | null = null;
  private readonly ink: CanvasRenderingContext2D;
  private image: ImageData | null = null;
  private surface: Surface | null = null;
  private size: [number, number] = [600, 300];  // Page pixels.
  private ratio = 1;
  private readonly ticks = new Float64Array(200);
  private readonly words: TickWords;
  private zone = 0;
  private inks!: Inks;
  private tones = {ground: 0, line: 0};
  private strips = {busy: 0, busySoft: 0, waiting: 0, waitingSoft: 0};
  private cursor: {row: number; begin: number} | null = null;  // Lease selected with the keyboard.
  private due = 0;
  private readonly leave: () => void;

  constructor(readonly canvas: HTMLCanvasElement, readonly time: TimeView) {
    this.ink = canvas.getContext('2d', {alpha: false})!;
    this.words = new TickWords(time.unit);
    this.zone = time.unit === 'unix' ? -60 * new Date().getTimezoneOffset() : 0;
    this.leave = time.subscribe(() => this.later());
    this.takeColors();
  }

  close(): void {
    this.leave();
    cancelAnimationFrame(this.due);
  }

  takeColors(): void {
    this.inks = {card: paint('card'), ink: paint('ink'), muted: paint('muted'), line: paint('line'),
      accent: paint('accent'), bad: paint('bad')};
    const [ground, accent, warn] = [pixel(this.inks.card), pixel(this.inks.accent), pixel(paint('warn'))];
    this.tones = {ground, line: pixel(this.inks.line)};
    this.strips = {busy: accent, busySoft: mix(accent, ground, 140),
      waiting: warn, waitingSoft: mix(warn, ground, 140)};
  }

  setData(line: Timeline, bars: Bars): void {
    const rows = this.bars?.rows;
    this.line = line;
    this.bars = bars;
    if (rows !== bars.rows) {
      this.rows = rowView(bars.rows);
      this.cursor = null;
    }
    this.frame = frameOf(...this.size, bars.load.t.length > 0);
    this.later();
  }

  setShades(shades: Shades): void {
    this.shades = shades;
    this.later();
  }

  resize(width: number, height: number, ratio: number): void {
    const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
    const same = this.canvas.width === wide && this.canvas.height === high && this.ratio === ratio;
    if (same && this.image) return;
    this.canvas.width = wide;
    this.canvas.height = high;
    this.ratio = ratio;
    this.size = [width, height];
    this.frame = frameOf(width, height, (this.bars?.load.t.length ?? 0) > 0);
    const plot = Math.max(1, wide - Math.round(this.frame.gutter * ratio));
    this.image = new ImageData(plot, high);
    this.surface = {px: new Uint32Array(this.image.data.buffer), width: plot, blank: new Uint32Array(plot)};
    this.draw();
  }

  // Draws in the next frame; several calls lead to one frame.
  later(): void {
    if (this.due) return;
    this.due = requestAnimationFrame(() => {
      this.due = 0;
      this.draw();
    });
  }

  get lit(): number {
    return this.time.lit === '' ? -1 : this.bars?.jobOf.get(this.time.lit) ?? -1;
  }

  barAt(x: number, y: number): number {
    if (!this.bars) return -1;
    const {gutter, width, top, height} = this.frame;
    return barAt(this.bars, this.time, this.rows, width, height, x - gutter, y - top);
  }

  // Selects the next visible lease and returns its position on the canvas; bar -1: none.
  step(way: 1 | -1): {bar: number; x: number; y: number} {
    const {bars, frame, time, rows} = this;
    const none = {bar: -1, x: 0, y: 0};
    if (!bars) return none;
    const start = {row: way > 0 ? -1 : bars.rows, begin: 0};
    const from = this.cursor ?? start;
    const bar = neighbour(bars, time, rows, from.row, from.begin, way);
    if (bar < 0) return none;
    const row = rowOfBar(bars, bar);
    this.cursor = {row, begin: bars.begin[bar]};
    return {
      bar, x: frame.gutter + Math.max(0, bars.begin[bar] - time.from) / time.span * frame.width,
      y: frame.top + (Math.max(row, rows.from) + 0.5 - rows.from) / rows.span * frame.height,
    };
  }

  // The lease that step() selected last; -1: none.
  get stepped(): number {
    const {bars, cursor} = this;
    if (!bars || !cursor) return -1;
    const bar = firstBeyond(bars.begin, bars.first[cursor.row], bars.first[cursor.row + 1], cursor.begin) - 1;
    return bar >= bars.first[cursor.row] && bars.begin[bar] === cursor.begin ? bar : -1;
  }

  timeAt(x: number): number {
    return this.time.from + (x - this.frame.gutter) / this.frame.width * this.time.span;
  }

  draw(): void {
    const {line, bars, shades, surface, image} = this;
    if (!line || !bars || !shades || !surface || !image || shades.full.length !== line.jobs.id.length) return;
    if (this.now !== null) grow(bars, this.now);
    const step = tickStep(this.time.span, this.frame.width / pixelsATick(this.frame.width));
    const tickCount = ticks(this.time.from, this.time.to, step, this.zone, this.ticks);
    this.drawGrid(surface, tickCount);
    this.drawPixels(surface, bars, shades, line);
    this.ink.putImageData(image, Math.round(this.frame.gutter * this.ratio), 0);
    drawWords(this.ink, this.ratio, {line, bars, time: this.time, rows: this.rows, frame: this.frame, lit: this.lit,
      now: this.now, ticks: this.ticks, tickCount, step, words: this.words, shades, inks: this.inks});
  }

  private drawGrid(surface: Surface, tickCount: number): void {
    surface.blank.fill(this.tones.ground);
    const scale = surface.width / this.time.span;
    for (let i = 0; i < tickCount; i++) {
      surface.blank[Math.floor((this.ticks[i] - this.time.from) * scale)] = this.tones.line;
    }
  }

  private drawPixels(surface: Surface, bars: Bars, shades: Shades, line: Timeline): void {
    const {frame, ratio, time, strips} = this;
    const px = (y: number) => Math.round(y * ratio);
    const high = px(frame.stripHeight);
    const {t, busy, waiting, mostWaiting} = bars.load;
    fillRect(surface, 0, high, surface.width, px(frame.top), this.tones.ground);
    if (high > 0) {
      drawStrip(surface, 0, high, t, busy, line.gpus, time, strips.busy, strips.busySoft);
      drawStrip(surface, px(frame.strips[1]), high, t, waiting, mostWaiting, time, strips.waiting, strips.waitingSoft);
      for (const y of frame.strips) {
        fillRect(surface, 0, px(y) + high, surface.width, px(y) + high + 1, this.tones.line);
      }
    }
    const [top, lit] = [px(frame.top), this.lit];
    const height = Math.floor(surface.px.length / surface.width) - top;
    if (bars.rows === 0) return fillRect(surface, 0, top, surface.width, top + height, this.tones.ground);
    drawRows(surface, top, height, bars, time, this.rows, lit >= 0 ? shades.dim : shades.full, this.tones);
    if (lit >= 0) drawLit(surface, top, height, bars, time, this.rows, lit, shades.own[lit], rowOfBar);
  }
}
