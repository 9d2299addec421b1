import { useState } from 'react'
import { t } from '../text/labels.ts'
import { Icon } from './icon.tsx'

const SHOWN_MS = 2000

/** Copies a text and confirms it. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await copyText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), SHOWN_MS)
  }
  return (
    <button
      type="button"
      className="icon-button"
      aria-label={isCopied ? t('page.copied') : label}
      title={label}
      onClick={copy}
    >
      <Icon name={isCopied ? 'check' : 'copy'} />
    </button>
  )
}

/** Copies through a selection where there is no clipboard API, as on plain HTTP. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const field = Object.assign(document.createElement('textarea'), { value: text, className: 'off-screen' })
  document.body.append(field)
  field.select()
  document.execCommand('copy')
  field.remove()
}
