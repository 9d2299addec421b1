import mime from 'mime'

/** Beginnings of files in base64, by media type. */
export const fileBeginnings: Record<string, readonly string[]> = {
  'image/png': ['iVBORw0KGg'],
  'image/jpeg': ['/9j/'],
  'image/gif': ['R0lGOD'],
  'image/webp': ['UklGR'],
  'application/pdf': ['JVBERi'],
}

/** Media types that programs use for unknown files and for archives, such as office documents. */
const anyType: ReadonlySet<string> = new Set(
  ['octet-stream', 'zip', 'x-zip-compressed'].map((kind) => `application/${kind}`),
)

/** Detects the media type by the bytes; otherwise by the declared type or, if this is generic, by the name. */
export function detectMediaType(declared: string, base64: string, name = ''): string {
  const type = declared.toLowerCase()
  if (type.startsWith('text/') || type === 'application/json') return type
  const found = Object.entries(fileBeginnings).find(([, starts]) => starts.some((start) => base64.startsWith(start)))
  return found?.[0] ?? (anyType.has(type) ? (mime.getType(name) ?? type) : type)
}
