import { useState } from 'react'
import { InputError } from '../api/error-text.ts'
import { t } from '../text/labels.ts'
import { InlineError } from './error-message.tsx'
import { IconButton } from './icon-button.tsx'

const SHOWN_MS = 2000

interface CopyButtonProps {
  /** The text, or a function that makes it on demand. */
  text: string | (() => Promise<string>)
  label: string
}

/** Copies a text and confirms it, or says why it cannot be made or copied. */
export function CopyButton({ text, label }: CopyButtonProps) {
  const { isCopied, error, copy } = useCopy()
  return (
    <>
      <IconButton
        icon={isCopied ? 'check' : 'copy'}
        label={isCopied ? t('page.copied') : label}
        title={label}
        onClick={() => copy(text)}
      />
      <InlineError error={error} />
    </>
  )
}

/** Copies texts: `isCopied` is true for a moment after that, and `error` is why the last one was not copied. */
export function useCopy() {
  const [isCopied, setCopied] = useState(false)
  const [error, setError] = useState<unknown>()
  const copyAndConfirm = async (text: CopyButtonProps['text']) => {
    await copyText(typeof text === 'string' ? text : await text())
    setCopied(true)
    setTimeout(() => setCopied(false), SHOWN_MS)
  }
  const copy = (text: CopyButtonProps['text']) => {
    setError(undefined)
    copyAndConfirm(text).catch(setError)
  }
  return { isCopied, error, copy }
}

/** Copies a text; throws if the browser refuses it. */
async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    if (!copyBySelection(text)) throw new InputError(t('page.notCopied'))
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
