import { useState } from 'react'
import { Markdown } from '../shared/markdown/markdown.tsx'
import { t } from '../shared/text/labels.ts'
import { TextInput } from './choice-input.tsx'

interface TextWithPreviewProps {
  label: string
  name: string
  value: string
  hint?: string
}

/** A text in Markdown as it is written, and as it is read. */
export function TextWithPreview({ label, name, value, hint }: TextWithPreviewProps) {
  const [text, setText] = useState(value)
  return (
    <div className="with-preview" onChange={(event) => setText((event.target as unknown as HTMLTextAreaElement).value)}>
      <TextInput label={label} name={name} value={value} rows={6} {...(hint && { hint })} />
      <section className="preview" aria-label={`${t('app.admin.preview')}: ${label}`}>
        <Markdown text={text} />
      </section>
    </div>
  )
}
