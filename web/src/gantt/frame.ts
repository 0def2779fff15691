// Layout of a chart, in page pixels.

export interface Frame {
  gutter: number;         // Width of the names on the left.
  width: number;          // Width of the part with the time axis.
  strips: [number, number];
  stripHeight: number;    // 0: no strips.
  axis: number;
  axisHeight: number;
  top: number;            // Top of the rows.
  height: number;
}

const STRIP = 38, BETWEEN = 8, AXIS = 24;
const STRIPS = 2 * STRIP + BETWEEN;

const HIGHEST_ROW = 26;

const above = (strips: boolean): number => (strips ? STRIPS : 0) + AXIS + BETWEEN;

// `strips`: whether to show the load in two strips above the axis.
export function frameOf(width: number, height: number, strips: boolean): Frame {
  const gutter = width < 600 ? 64 : 124;
  const top = above(strips);
  return {
    gutter, width: Math.max(1, width - gutter), strips: [0, STRIP + BETWEEN], stripHeight: strips ? STRIP : 0,
    axis: top - AXIS - BETWEEN, axisHeight: AXIS + BETWEEN, top, height: Math.max(1, height - top),
  };
}

// Height of a chart with this many rows, at most `room`.
export function heightFor(rows: number, room: number, strips: boolean): number {
  const top = above(strips);
  return Math.max(top + 40, Math.min(room, top + rows * HIGHEST_ROW));
}
