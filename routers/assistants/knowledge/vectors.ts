import { MAX_DIMENSIONS } from '../../ports/knowledge-indexes.ts'

/** Thrown for vectors that cannot be searched. */
export class UnusableVectors extends Error {
  override name = 'UnusableVectors'
}

const SCALE_BYTES = 4
const MAX_BYTE = 127

/**
 * Packs a vector of length 1 into a byte for each dimension, behind the scale of the vector, without which small vectors
 * would lose most of what tells them apart. Throws `UnusableVectors`.
 */
export function packVector(vector: readonly number[]): Buffer {
  if (vector.length > MAX_DIMENSIONS) throw new UnusableVectors('one has too many dimensions')
  const length = Math.hypot(...vector)
  if (!(length > 0 && length < Infinity)) throw new UnusableVectors('one has no direction')
  const largest = vector.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  const packed = Buffer.alloc(SCALE_BYTES + vector.length)
  packed.writeFloatLE(largest / MAX_BYTE / length)
  for (const [at, value] of vector.entries())
    packed.writeInt8(Math.round((value / largest) * MAX_BYTE), SCALE_BYTES + at)
  return packed
}

/** A vector as it is packed: each dimension is its byte times the scale. */
export interface PackedVector {
  scale: number
  bytes: Int8Array
}

export const readPacked = (packed: Buffer): PackedVector => ({
  scale: packed.readFloatLE(),
  bytes: new Int8Array(packed.buffer, packed.byteOffset + SCALE_BYTES, packed.length - SCALE_BYTES),
})
