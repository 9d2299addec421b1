import { createBulkhead } from '../../core/load/concurrency.ts'
import { Problem } from '../../core/problems.ts'

const formats = ['png', 'jpeg', 'webp', 'gif', 'avif']

/** An interlaced picture is decoded as a whole, with 4 to 8 bytes a pixel. */
const MAX_PIXELS = 16_000_000
const MAX_SECONDS = 10

/** In pixels; `cover` cuts off what is too much, `inside` makes it smaller. */
export interface PictureShape {
  width: number
  height: number
  fit: 'cover' | 'inside'
}

/** The threads that decode belong to the process, and so does this limit. */
const decoding = createBulkhead(1, 4)

/** Makes a WebP of an image, judged by its content: decoding and encoding again leaves nothing of the file but its pixels. */
export const reencode = (image: Uint8Array, shape: PictureShape): Promise<Uint8Array> =>
  decoding(() => toWebp(image, shape))

async function toWebp(image: Uint8Array, shape: PictureShape): Promise<Uint8Array> {
  try {
    const sharp = await loadSharp()
    const { format, width, height } = await sharp(image, { limitInputPixels: false }).metadata()
    if (!formats.includes(format)) throw new Error(`unwanted format ${format}`)
    if (width * height > MAX_PIXELS) throw tooLarge()
    const picture = sharp(image, { limitInputPixels: MAX_PIXELS, sequentialRead: true, failOn: 'error' })
    const resized = picture
      .rotate()
      .resize({ ...shape, withoutEnlargement: shape.fit === 'inside' })
      .webp()
    return await resized.timeout({ seconds: MAX_SECONDS }).toBuffer()
  } catch (error) {
    throw error instanceof Problem ? error : notAnImage(error)
  }
}

/** Loaded when first needed: it takes more memory than most services ever use of it. */
async function loadSharp() {
  const { default: sharp } = await import('sharp')
  sharp.concurrency(1)
  sharp.cache(false)
  return sharp
}

function tooLarge(): Problem {
  const message = `must have at most ${MAX_PIXELS / 1_000_000} megapixels`
  return new Problem('invalid', { detail: `The picture ${message}.`, issues: [{ path: ['avatar'], message }] })
}

function notAnImage(cause: unknown): Problem {
  const kinds = `an image of the kinds ${formats.join(', ')}`
  const issues = [{ path: ['avatar'], message: `must be ${kinds}` }]
  return new Problem('invalid', { detail: `This is not ${kinds}.`, issues, cause })
}
