// The last lines of a log, in blocks that do not change any more once they are full: what is on the screen is made
// again only where something came.

const BLOCK = 100;          // Lines.
const MOST_LINES = 5000;
const MOST_LINE = 4000;     // Characters of a line that are shown,
const MOST_REST = 1 << 16;  // and that are kept while it has no end.

export interface Block {
  number: number;           // Of its first line, from 0, counted from the first that came.
  lines: string[];
}

// Escape sequences: colours, titles, moves of the cursor.
const ESCAPES = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]/g;
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f\x1b]/g;

// As a terminal would show it: what was written over by a carriage return is gone.
export function clean(line: string): string {
  const ended = line.endsWith('\r') ? line.slice(0, -1) : line;
  const text = ended.slice(ended.lastIndexOf('\r') + 1).replace(ESCAPES, '').replace(CONTROLS, '');
  if (text.length <= MOST_LINE) return text;
  return `${text.slice(0, MOST_LINE)} … ${(text.length - MOST_LINE).toLocaleString('en')} more characters`;
}

export class LogBuffer {
  blocks: Block[] = [];
  dropped = 0;              // Lines that came and are no longer kept.
  private rest = '';        // A line that has no end yet.
  private count = 0;

  constructor(private most = MOST_LINES) {}

  add(text: string): void {
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop() ?? '';
    for (const line of lines) this.push(clean(line));
    if (this.rest.length > MOST_REST) {
      // A bar of progress that is drawn over and over, or one line without end.
      const last = this.rest.lastIndexOf('\r', this.rest.length - 2);
      this.rest = last > 0 ? this.rest.slice(last + 1) : this.rest.slice(0, MOST_REST);
    }
  }

  // The line that is being written; empty if the last one has ended.
  get tail(): string {
    return clean(this.rest);
  }

  get kept(): number {
    return this.count - this.dropped;
  }

  private push(line: string): void {
    const last = this.blocks[this.blocks.length - 1];
    if (last && last.lines.length < BLOCK) {
      this.blocks[this.blocks.length - 1] = {number: last.number, lines: [...last.lines, line]};
    } else {
      this.blocks = [...this.blocks, {number: this.count, lines: [line]}];
    }
    this.count++;
    while (this.kept - this.blocks[0].lines.length >= this.most) {
      this.dropped += this.blocks[0].lines.length;
      this.blocks = this.blocks.slice(1);
    }
  }
}
