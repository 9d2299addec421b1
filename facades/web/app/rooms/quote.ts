type Take = (quotation: string) => void

const fields = new Map<'room' | 'thread', Take>()

/** Takes quotations into a field, as long as that is there. */
export function onRoomQuote(field: 'room' | 'thread', take: Take): () => void {
  fields.set(field, take)
  return () => {
    if (fields.get(field) === take) fields.delete(field)
  }
}

/** Puts what somebody wrote into the field for the next message. */
export function quoteInRoom(name: string, text: string, isInThread: boolean): void {
  const lines = text.split('\n').map((line) => `> ${line}`)
  fields.get(isInThread ? 'thread' : 'room')?.([`> **${name}:**`, ...lines].join('\n'))
}
