import { language } from './labels.ts'

const megabyteFormat = new Intl.NumberFormat(language, { style: 'unit', unit: 'megabyte', maximumFractionDigits: 0 })

/** Formats a size in whole megabytes. */
export const formatMegabytes = (bytes: number): string => megabyteFormat.format(Math.floor(bytes / 1024 ** 2))
