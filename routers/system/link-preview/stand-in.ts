import { hash } from 'node:crypto'
import { crc32, deflateSync } from 'node:zlib'

const WIDTH = 160
const HEIGHT = 90

type Colour = readonly [red: number, green: number, blue: number]

const palette: readonly [Colour, ...Colour[]] = [
  [30, 64, 175],
  [14, 116, 144],
  [15, 118, 110],
  [21, 128, 61],
  [77, 124, 15],
  [161, 98, 7],
  [194, 65, 12],
  [185, 28, 28],
  [157, 23, 77],
  [126, 34, 206],
  [67, 56, 202],
]

/** A gradient in place of an image, as PNG: the same text always has the same colours. */
export function gradient(text: string): Buffer {
  const [first = 0, second = 0] = hash('sha256', text, 'buffer')
  const colour = (byte: number) => palette[byte % palette.length] ?? palette[0]
  const [from, to] = [colour(first), colour(second)]
  const rows = Buffer.alloc(HEIGHT * (1 + 3 * WIDTH))
  for (let y = 0; y < HEIGHT; y++)
    for (let x = 0; x < WIDTH; x++)
      for (const [channel, start] of from.entries()) {
        const end = to[channel] ?? start
        const mixed = start + ((end - start) * (x + y)) / (WIDTH + HEIGHT)
        rows[y * (1 + 3 * WIDTH) + 1 + 3 * x + channel] = Math.round(mixed)
      }
  return png(rows)
}

/** Of 8 bits a channel, without transparency. */
function png(rows: Buffer): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(WIDTH, 0)
  header.writeUInt32BE(HEIGHT, 4)
  header.set([8, 2, 0, 0, 0], 8)
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND')])
}

function chunk(type: string, data = Buffer.alloc(0)): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  check.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, check])
}

/** A globe in place of the icon of a site, as SVG. */
export const globe = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" width="64" height="64" fill="none" stroke="#64748b" stroke-width="1.5">' +
    '<circle cx="12" cy="12" r="9"/><path d="M3 12h18M12 3c3 3 4 6 4 9s-1 6-4 9c-3-3-4-6-4-9s1-6 4-9z"/></svg>',
)
