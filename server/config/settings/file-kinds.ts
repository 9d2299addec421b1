import { list } from './setting-types.ts'

const office = 'application/vnd.openxmlformats-officedocument'
const openDocument = 'application/vnd.oasis.opendocument'

/** Media types that can be detected from the bytes of a file. */
export const fileTypes: readonly string[] = [
  ...['png', 'apng', 'jpeg', 'gif', 'webp', 'avif', 'bmp', 'tiff', 'svg+xml'].map((kind) => `image/${kind}`),
  ...['pdf', 'rtf', 'xml'].map((kind) => `application/${kind}`),
  ...['wordprocessingml.document', 'spreadsheetml.sheet', 'presentationml.presentation'].map(
    (kind) => `${office}.${kind}`,
  ),
  ...['text', 'spreadsheet', 'presentation'].map((kind) => `${openDocument}.${kind}`),
  ...['mpeg', 'wav', 'ogg', 'x-m4a'].map((kind) => `audio/${kind}`),
  ...['mp4', 'webm'].map((kind) => `video/${kind}`),
  ...['plain', 'csv', 'html'].map((kind) => `text/${kind}`),
]

/** Media types that browsers report for files that are plain text. */
export const plainTextTypes: readonly string[] = [
  'json',
  'schema+json',
  'javascript',
  'x-javascript',
  'typescript',
  'yaml',
  'x-yaml',
  'sql',
  'x-sql',
  'x-sh',
  'x-shellscript',
  'x-perl',
  'x-php',
  'x-httpd-php',
  'x-ruby',
  'x-tex',
  'toml',
  'x-ndjson',
]
  .map((kind) => `application/${kind}`)
  .concat(
    'calendar',
    'vcard',
    'css',
    'javascript',
    'jsx',
    'markdown',
    'x-markdown',
    'mdx',
    'yaml',
    'x-yaml',
    'x-c',
    'x-csrc',
    'x-chdr',
    'x-c++src',
    'x-c++hdr',
    'x-csharp',
    'x-java',
    'x-java-source',
    'x-kotlin',
    'x-go',
    'x-rust',
    'x-scala',
    'x-python',
    'x-ruby',
    'x-perl',
    'x-php',
    'x-lua',
    'x-sql',
    'x-sh',
    'x-tex',
    'x-rst',
    'x-haskell',
    'x-erlang',
    'x-diff',
    'x-patch',
    'x-vcard',
    'x-vcalendar',
    'x-scss',
    'x-less',
    'vtt',
  )
  .map((kind) => (kind.includes('/') ? kind : `text/${kind}`))

export const plainTextExtensions =
  'txt text log md markdown mdx json jsonl yaml yml toml ini conf env css scss less js mjs jsx ts tsx php py r rb pl sh ps1 c h cpp hpp cs java kt go rs scala swift lua hs erl sql tex rst diff patch ics vcf vtt'.split(
    ' ',
  )

const isKnown = (kind: string) => fileTypes.includes(kind) || plainTextTypes.includes(kind)

/** A list of allowed media types. All types that front ends know are valid, so that an operator can copy their list. */
export const mediaTypes = list.refine((types) => types.every(isKnown), {
  error: ({ input }) =>
    `must be some of ${fileTypes.join(', ')}, or what browsers call plain text, and ${(input as string[]).find((kind) => !isKnown(kind))} is none`,
})
