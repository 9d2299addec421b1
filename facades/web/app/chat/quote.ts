const quoted = new EventTarget()

/** Puts a text as a quotation into the composer. */
export const quoteInComposer = (text: string): void => {
  const quotation = text.replace(/^/gm, '> ')
  quoted.dispatchEvent(new CustomEvent('quote', { detail: quotation }))
}

export function onQuote(take: (quotation: string) => void): () => void {
  const listener = (event: Event) => take(String((event as CustomEvent).detail))
  quoted.addEventListener('quote', listener)
  return () => quoted.removeEventListener('quote', listener)
}
