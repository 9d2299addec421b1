import { useState } from 'react'
import { t } from '../text/labels.ts'
import { InlineError } from './error-message.tsx'
import { IconButton } from './icon-button.tsx'

const SHOWN_MS = 2000

interface CopyButtonProps {
  /** The text, or a function that makes it on demand. */
  text: string | (() => Promise<string>)
  label: string
}

/** Copies a text and confirms it, or says why the text cannot be made. */
export function CopyButton({ text, label }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false)
  const [error, setError] = useState<unknown>()
  const copy = async () => {
    if (!(await copyText(typeof text === 'string' ? text : await text()))) return
    setCopied(true)
    setTimeout(() => setCopied(false), SHOWN_MS)
  }
  return (
    <>
      <IconButton
        icon={isCopied ? 'check' : 'copy'}
        label={isCopied ? t('page.copied') : label}
        title={label}
        onClick={() => {
          setError(undefined)
          copy().catch(setError)
        }}
      />
      <InlineError error={error} />
    </>
  )
}

/** Returns true if the text was copied. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copyBySelection(text)
  }
}

/** Copies where there is no clipboard API, as on plain HTTP, or the browser refuses it. */
function copyBySelection(text: string): boolean {
  const field = Object.assign(document.createElement('textarea'), { value: text, className: 'off-screen' })
  document.body.append(field)
  field.select()
  const isCopied = document.execCommand('copy')
  field.remove()
  return isCopied
}
