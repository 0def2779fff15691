// Where the parts of a drawing are, in pixels of the page.

export interface Frame {
  gutter: number;         // To the left: names.
  width: number;          // Of what has a time axis.
  strips: [number, number];
  stripHeight: number;    // 0: there are none.
  axis: number;
  axisHeight: number;
  top: number;            // Of the Gantt.
  height: number;
}

const STRIP = 38, BETWEEN = 8, AXIS = 24;
const STRIPS = 2 * STRIP + BETWEEN;

const HIGHEST_ROW = 26;

const above = (strips: boolean): number => (strips ? STRIPS : 0) + AXIS + BETWEEN;

// `strips`: whether the load is known, which two strips above the axis show.
export function frameOf(width: number, height: number, strips: boolean): Frame {
  const gutter = width < 600 ? 64 : 124;
  const top = above(strips);
  return {
    gutter, width: Math.max(1, width - gutter), strips: [0, STRIP + BETWEEN], stripHeight: strips ? STRIP : 0,
    axis: top - AXIS - BETWEEN, axisHeight: AXIS + BETWEEN, top, height: Math.max(1, height - top),
  };
}

// The height for so many rows where there is room for `room`.
export function heightFor(rows: number, room: number, strips: boolean): number {
  const top = above(strips);
  return Math.max(top + 40, Math.min(room, top + rows * HIGHEST_ROW));
}
