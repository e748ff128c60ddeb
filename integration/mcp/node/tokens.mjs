// Reads a JSON array of texts from standard input, and writes the array of their tokens' counts in the encoding
// o200k_base.
import { text } from 'node:stream/consumers';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';

const texts = JSON.parse(await text(process.stdin));
process.stdout.write(JSON.stringify(texts.map((t) => encode(t, { disallowedSpecial: new Set() }).length)) + '\n');
