import { createBulkhead } from '../../core/load/concurrency.ts'
import { Problem } from '../../core/problems.ts'

const formats = ['png', 'jpeg', 'webp', 'gif', 'avif']

/** An interlaced image is decoded as a whole, at 4 to 8 bytes per pixel. */
const MAX_PIXELS = 16_000_000
const MAX_SECONDS = 10

/** Size in pixels; `cover` crops the image, `inside` scales it down. */
export interface PictureShape {
  width: number
  height: number
  fit: 'cover' | 'inside'
}

/** The decoder's threads are shared by the process, and so is this limit. */
const decodeBulkhead = createBulkhead(1, 4)

/** Converts an image to WebP. The type is detected from its content, and re-encoding keeps nothing but the pixels. */
export const reencode = (image: Uint8Array, shape: PictureShape): Promise<Uint8Array> =>
  decodeBulkhead(() => toWebp(image, shape))

async function toWebp(image: Uint8Array, shape: PictureShape): Promise<Uint8Array> {
  try {
    const sharp = await loadSharp()
    const { format, width, height } = await sharp(image, { limitInputPixels: false }).metadata()
    if (!formats.includes(format)) throw new Error(`unwanted format ${format}`)
    if (width * height > MAX_PIXELS) throw createTooManyPixelsProblem()
    const picture = sharp(image, { limitInputPixels: MAX_PIXELS, sequentialRead: true, failOn: 'error' })
    const resized = picture
      .rotate()
      .resize({ ...shape, withoutEnlargement: shape.fit === 'inside' })
      .webp()
    return await resized.timeout({ seconds: MAX_SECONDS }).toBuffer()
  } catch (error) {
    throw error instanceof Problem ? error : createNotAnImageProblem(error)
  }
}

/** Loads sharp on first use, because it takes a lot of memory. */
async function loadSharp() {
  const { default: sharp } = await import('sharp')
  sharp.concurrency(1)
  sharp.cache(false)
  return sharp
}

function createTooManyPixelsProblem(): Problem {
  const message = `must have at most ${MAX_PIXELS / 1_000_000} megapixels`
  return new Problem('invalid', { detail: `The picture ${message}.`, issues: [{ path: ['avatar'], message }] })
}

function createNotAnImageProblem(cause: unknown): Problem {
  const kinds = `an image of the kinds ${formats.join(', ')}`
  const issues = [{ path: ['avatar'], message: `must be ${kinds}` }]
  return new Problem('invalid', { detail: `This is not ${kinds}.`, issues, cause })
}
