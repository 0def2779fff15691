// Where the parts of a drawing are, in pixels of the page.

export interface Frame {
  gutter: number;         // To the left: names.
  width: number;          // Of what has a time axis.
  strips: [number, number];
  stripHeight: number;
  axis: number;
  axisHeight: number;
  top: number;            // Of the Gantt.
  height: number;
}

const STRIP = 38, BETWEEN = 8, AXIS = 24;
const ABOVE = 2 * STRIP + 2 * BETWEEN + AXIS;

const HIGHEST_ROW = 26;

export function frameOf(width: number, height: number): Frame {
  const gutter = width < 600 ? 64 : 124;
  return {
    gutter, width: Math.max(1, width - gutter), strips: [0, STRIP + BETWEEN], stripHeight: STRIP,
    axis: 2 * STRIP + BETWEEN, axisHeight: AXIS + BETWEEN, top: ABOVE, height: Math.max(1, height - ABOVE),
  };
}

// The height for so many rows where there is room for `room`.
export function heightFor(rows: number, room: number): number {
  return Math.max(ABOVE + 40, Math.min(room, ABOVE + rows * HIGHEST_ROW));
}
