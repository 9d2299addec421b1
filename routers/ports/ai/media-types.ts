import mime from 'mime'

/** How files of a type begin, in base64. */
export const fileBeginnings: Record<string, readonly string[]> = {
  'image/png': ['iVBORw0KGg'],
  'image/jpeg': ['/9j/'],
  'image/gif': ['R0lGOD'],
  'image/webp': ['UklGR'],
  'application/pdf': ['JVBERi'],
}

/** What programs say of files that they know nothing of, or only that they are archives, as documents of offices are. */
const anyType: ReadonlySet<string> = new Set(
  ['octet-stream', 'zip', 'x-zip-compressed'].map((kind) => `application/${kind}`),
)

/** The type of a file by its bytes, or as it is said to be where they don't tell, or it is text; by its name where nothing is said. */
export function detectMediaType(declared: string, base64: string, name = ''): string {
  const type = declared.toLowerCase()
  if (type.startsWith('text/') || type === 'application/json') return type
  const found = Object.entries(fileBeginnings).find(([, starts]) => starts.some((start) => base64.startsWith(start)))
  return found?.[0] ?? (anyType.has(type) ? (mime.getType(name) ?? type) : type)
}
