// Reads {Cols, Rows, Outputs} from standard input, where Outputs are in base64, and writes the rows of the screen after
// each output. Without the widths of Unicode 11 an emoji would be one column wide.
import { text } from 'node:stream/consumers';
import unicode11 from '@xterm/addon-unicode11';
import headless from '@xterm/headless';

const { Cols: cols, Rows: rows, Outputs: outputs } = JSON.parse(await text(process.stdin));
const screens = [];
for (const output of outputs) {
  const terminal = new headless.Terminal({ cols, rows, allowProposedApi: true });
  terminal.loadAddon(new unicode11.Unicode11Addon());
  terminal.unicode.activeVersion = '11';
  await new Promise((done) => terminal.write(Buffer.from(output, 'base64'), done));
  const buffer = terminal.buffer.active;
  const lines = [];
  for (let y = 0; y < rows; y++) lines.push(buffer.getLine(buffer.baseY + y).translateToString(true).trimEnd());
  screens.push(lines);
  terminal.dispose();
}
process.stdout.write(JSON.stringify(screens) + '\n');
