import { language } from './labels.ts'

const units = ['byte', 'kilobyte', 'megabyte'] as const

/** Formats a size in the largest unit up to megabytes of which it has a whole one, such as «12 kB». */
export function formatSize(bytes: number): string {
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)))
  const format = new Intl.NumberFormat(language, { style: 'unit', unit: units[power], maximumFractionDigits: 0 })
  return format.format(Math.floor(bytes / 1024 ** power))
}
