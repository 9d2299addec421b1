import { constants, crc32, deflateRawSync } from 'node:zlib'

export interface ZipEntry {
  name: string
  content: string | Buffer
  /** Bytes that are already deflated. */
  deflated?: Buffer
  /** A false size for the directory. */
  claimedSize?: number
  isEncrypted?: boolean
}

/** Writes an archive byte by byte, so that it may have false entries. */
export function makeZip(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const entry of entries) {
    const { local, central, data } = encode(entry, offset)
    parts.push(local, data)
    directory.push(central)
    offset += local.length + data.length
  }
  const directoryBytes = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(directoryBytes.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...parts, directoryBytes, end])
}

function encode({ name, content, deflated, claimedSize, isEncrypted }: ZipEntry, offset: number) {
  const plain = Buffer.from(content as string)
  const data = deflated ?? deflateRawSync(plain)
  const path = Buffer.from(name)
  const common = Buffer.alloc(26)
  common.writeUInt16LE(20, 0)
  common.writeUInt16LE(isEncrypted ? 1 : 0, 2)
  common.writeUInt16LE(8, 4)
  common.writeUInt32LE(crc32(plain), 10)
  common.writeUInt32LE(data.length, 14)
  common.writeUInt32LE(claimedSize ?? plain.length, 18)
  common.writeUInt16LE(path.length, 22)
  const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, path])
  const rest = Buffer.alloc(14)
  rest.writeUInt32LE(offset, 10)
  const central = Buffer.concat([Buffer.from('PK\x01\x02\x14\0', 'latin1'), common, rest, path])
  return { local, central, data }
}

const MIB = 1024 * 1024

/** Deflates so many MiB of zeros to a thousandth of the size by repeating a flushed block. */
export function deflateZeros(mebibytes: number): Buffer {
  const block = deflateRawSync(Buffer.alloc(MIB), { finishFlush: constants.Z_FULL_FLUSH, level: 9 })
  return Buffer.concat([...Array<Buffer>(mebibytes).fill(block), Buffer.from([0x03, 0x00])])
}
