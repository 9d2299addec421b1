import type { MouseEvent } from 'react'
import { type Citations, readPassageAddress } from '../passages.ts'
import { t } from '../text/labels.ts'
import { TextWithMentions } from './mentions.tsx'

const NUMBER = /\[(\d{1,3})\]/

/** A text in which the numbers that the service gave are links. All others stay as they were written. */
export const CitedText = ({ text, citations: { sources, open } }: { text: string; citations: Citations }) =>
  text.split(NUMBER).map((piece, at) => {
    const isNumber = at % 2 === 1
    const source = isNumber ? sources.find(({ passage }) => passage?.number === Number(piece)) : undefined
    const words = isNumber ? `[${piece}]` : piece
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text keep their positions while it grows.
    if (!source) return <TextWithMentions key={at} text={words} />
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text keep their positions while it grows.
    return <NumberLink key={at} number={piece} address={readPassageAddress(source.url)} open={open} />
  })

function NumberLink({ number, address, open }: { number: string; address: string; open: Citations['open'] }) {
  const show = (event: MouseEvent) => {
    event.preventDefault()
    open?.(address)
  }
  return (
    <a
      href={`/sources/${encodeURIComponent(address)}`}
      target="_blank"
      rel="noopener"
      aria-label={t('app.source.number', { number })}
      {...(open && { onClick: show, 'aria-haspopup': 'dialog' })}
    >
      [{number}]
    </a>
  )
}
