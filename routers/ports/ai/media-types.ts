/** How files of a type begin, in base64. */
export const fileBeginnings: Record<string, readonly string[]> = {
  'image/png': ['iVBORw0KGg'],
  'image/jpeg': ['/9j/'],
  'image/gif': ['R0lGOD'],
  'image/webp': ['UklGR'],
  'application/pdf': ['JVBERi'],
}

/** The type of a file by its bytes, or as it is said to be where they don't tell, or it is text. */
export function mediaTypeOf(declared: string, base64: string): string {
  const mime = declared.toLowerCase()
  if (mime.startsWith('text/') || mime === 'application/json') return mime
  const found = Object.entries(fileBeginnings).find(([, starts]) => starts.some((start) => base64.startsWith(start)))
  return found?.[0] ?? mime
}
