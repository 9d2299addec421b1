import { type RefObject, useEffect } from 'react'

/** Where a next message is written. */
type Field = 'chat' | 'room' | 'thread'

const fields = new Map<Field, (quotation: string) => void>()

/** Puts a text as a quotation into the field for the next message. */
export function quote(field: Field, text: string): void {
  fields.get(field)?.(text.replace(/^/gm, '> '))
}

interface Draft {
  text: string
  write: (text: string) => void
}

/** Takes quotations into a draft, above what is written already. */
export function useQuotations(field: Field, draft: Draft, element: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const take = (quotation: string) => {
      draft.write(`${quotation}\n\n${draft.text}`)
      element.current?.focus()
    }
    fields.set(field, take)
    return () => {
      if (fields.get(field) === take) fields.delete(field)
    }
  }, [field, draft, element])
}
