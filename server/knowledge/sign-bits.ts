const WORD_BITS = 32

interface NearestOptions {
  limit: number
  isWanted(passage: number): boolean
}

/** The signs of vectors, a bit for each dimension: near vectors have most signs in common. */
export class SignBits {
  readonly #dimensions: number
  readonly #words: number
  #bits = new Uint32Array(0)
  /** The passages that have a vector, in the order of their bits. */
  readonly #passages: number[] = []

  constructor(dimensions: number) {
    this.#dimensions = dimensions
    this.#words = Math.ceil(dimensions / WORD_BITS)
  }

  get dimensions(): number {
    return this.#dimensions
  }

  get bytes(): number {
    return this.#bits.byteLength + 8 * this.#passages.length
  }

  add(passage: number, vector: ArrayLike<number>): void {
    const start = this.#passages.push(passage) * this.#words - this.#words
    if (start + this.#words > this.#bits.length) this.#grow()
    this.#write(vector, this.#bits, start)
  }

  /** Returns the wanted passages whose vectors have most signs in common with this one, the nearest first. */
  findNearest(vector: ArrayLike<number>, { limit, isWanted }: NearestOptions): number[] {
    const wanted = new Uint32Array(this.#words)
    this.#write(vector, wanted, 0)
    const distances = this.#measure(wanted, isWanted)
    const cut = findCut(distances, this.#dimensions, limit)
    const nearest: { at: number; distance: number }[] = []
    for (let at = 0; at < distances.length; at++) {
      const distance = distances[at] ?? 0
      if (distance <= cut) nearest.push({ at, distance })
    }
    nearest.sort((one, other) => one.distance - other.distance || one.at - other.at)
    return nearest.slice(0, limit).map(({ at }) => this.#passages[at] ?? 0)
  }

  #grow(): void {
    const larger = new Uint32Array(Math.max(64 * this.#words, 2 * this.#bits.length))
    larger.set(this.#bits)
    this.#bits = larger
  }

  #write(vector: ArrayLike<number>, bits: Uint32Array, start: number): void {
    for (let at = 0; at < this.#dimensions; at++) {
      const word = start + (at >>> 5)
      if ((vector[at] ?? 0) > 0) bits[word] = (bits[word] ?? 0) | (1 << (at & 31))
    }
  }

  /** Counts for each vector the signs that differ; for one that is not wanted more than there can be. */
  #measure(wanted: Uint32Array, isWanted: NearestOptions['isWanted']): Uint16Array {
    const [words, bits] = [this.#words, this.#bits]
    const distances = new Uint16Array(this.#passages.length)
    for (let at = 0, word = 0; at < distances.length; at++) {
      let distance = 0
      for (let each = 0; each < words; each++, word++) distance += countBits((bits[word] ?? 0) ^ (wanted[each] ?? 0))
      distances[at] = isWanted(this.#passages[at] ?? 0) ? distance : this.#dimensions + 1
    }
    return distances
  }
}

function countBits(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555)
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

/** Finds the least distance within which there are so many vectors, so that only those are sorted. */
function findCut(distances: Uint16Array, most: number, limit: number): number {
  const counts = new Uint32Array(most + 1)
  for (const distance of distances) counts[distance] = (counts[distance] ?? 0) + 1
  let found = 0
  for (const [distance, count] of counts.entries()) {
    found += count
    if (found >= limit) return distance
  }
  return most
}
