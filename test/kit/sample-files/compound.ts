const SECTOR = 512
const [END, TABLE] = [0xffff_fffe, 0xffff_fffd]

/** Sectors of the directory, beyond the bytes that are checked at the start of an upload. */
const DIRECTORY = [150, 151] as const

/** A compound file, as of Office before 2007, whose directory lists a stream in its second part. */
export function makeCompoundFile(stream: string): Buffer {
  const file = Buffer.alloc((DIRECTORY[1] + 2) * SECTOR)
  const sector = (number: number) => file.subarray((number + 1) * SECTOR, (number + 2) * SECTOR)
  file.write('d0cf11e0a1b11ae1', 'hex')
  file.writeUInt16LE(9, 30)
  file.writeUInt32LE(DIRECTORY[0], 48)
  file.fill(0xff, 76, SECTOR)
  for (const table of [0, 1]) {
    file.writeUInt32LE(table, 76 + 4 * table)
    sector(table).fill(0xff)
    sector(0).writeUInt32LE(TABLE, 4 * table)
  }
  sector(1).writeUInt32LE(DIRECTORY[1], 4 * (DIRECTORY[0] - 128))
  sector(1).writeUInt32LE(END, 4 * (DIRECTORY[1] - 128))
  writeEntry(sector(DIRECTORY[0]), 'Root Entry')
  writeEntry(sector(DIRECTORY[1]), stream)
  return file
}

function writeEntry(entry: Buffer, name: string): void {
  entry.write(name, 'utf16le')
  entry.writeUInt16LE(2 * name.length + 2, 64)
}
