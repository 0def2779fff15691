// The last lines of a log, in blocks. A full block never changes, so the page renders only blocks with new lines.

const BLOCK = 100;          // Lines.
const MOST_LINES = 5000;
const MOST_LINE = 4000;     // Maximum characters shown per line.
const MOST_REST = 1 << 16;  // Maximum characters kept of an incomplete line.

export interface Block {
  number: number;           // Number of its first line, counted from 0 over all received lines.
  lines: string[];
}

// Escape sequences: colors, titles, cursor movement.
const ESCAPES = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]/g;
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f\x1b]/g;

// The line as a terminal shows it: text before a carriage return is overwritten.
export function clean(line: string): string {
  const ended = line.endsWith('\r') ? line.slice(0, -1) : line;
  const text = ended.slice(ended.lastIndexOf('\r') + 1).replace(ESCAPES, '').replace(CONTROLS, '');
  if (text.length <= MOST_LINE) return text;
  return `${text.slice(0, MOST_LINE)} … ${(text.length - MOST_LINE).toLocaleString('en')} more characters`;
}

export class LogBuffer {
  blocks: Block[] = [];
  dropped = 0;              // Received lines that are no longer kept.
  private rest = '';        // Incomplete last line.
  private count = 0;

  constructor(private most = MOST_LINES) {}

  add(text: string): void {
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop() ?? '';
    for (const line of lines) this.push(clean(line));
    if (this.rest.length > MOST_REST) {
      // A progress bar that is redrawn with carriage returns, or a very long line.
      const last = this.rest.lastIndexOf('\r', this.rest.length - 2);
      this.rest = last > 0 ? this.rest.slice(last + 1) : this.rest.slice(0, MOST_REST);
    }
  }

  // The incomplete last line; empty if there is none.
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
