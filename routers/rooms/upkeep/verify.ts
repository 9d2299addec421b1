import type { Services } from '../../core/services.ts'
import { compare, type Finding, type Found } from './compare.ts'
import { comparedAttachments } from './compared-attachments.ts'
import { comparedPictures } from './compared-pictures.ts'

/** More than anybody reads. All of them are counted. */
const MAX_LISTED = 1000

export interface Verification extends Record<Finding, number> {
  attachments: number
  /** Of people and rooms. */
  pictures: number
  files: number
  /** How many attachments and pictures were read to their ends. */
  read: number
  /** What was found, up to 1,000. */
  listed: Found[]
}

/** Compares attachments and pictures with what is stored, and reads so many of a hundred to their ends. */
export async function verifyFiles(
  services: Pick<Services, 'sql' | 'files' | 'storage' | 'vault'>,
  percent: number,
): Promise<Verification> {
  const found = { 'no-file': 0, 'no-owner': 0, 'unknown-key': 0, damaged: 0 }
  const listed: Found[] = []
  const tell = (one: Found) => {
    found[one.finding]++
    if (listed.length < MAX_LISTED) listed.push(one)
  }
  const attachments = await compare(comparedAttachments(services), percent, tell)
  const pictures = await compare(comparedPictures(services), percent, tell)
  return {
    attachments: attachments.rows,
    pictures: pictures.rows,
    files: attachments.files + pictures.files,
    read: attachments.read + pictures.read,
    ...found,
    listed,
  }
}
