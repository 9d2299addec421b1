import { useEffect, useRef, useState } from 'react'
import { t } from '../shared/text/labels.ts'
import type { Turn } from './turn.ts'

/** Tells screen readers that an answer begins and how it ended, and nothing in between. */
export function Progress({ turn }: { turn: Turn | undefined }) {
  const [text, setText] = useState('')
  const last = useRef<Turn>(undefined)
  useEffect(() => {
    const before = last.current
    last.current = turn
    if (turn && !before) setText(t('app.progress.begins'))
    if (turn?.phase === 'failed' && before?.phase !== 'failed') setText(t('app.progress.failed'))
    if (!turn && before && before.phase !== 'failed') setText(endOf(before))
  }, [turn])
  return (
    <p className="off-screen" role="status">
      {text}
    </p>
  )
}

const endOf = ({ answer }: Turn) =>
  answer.cut === 'stopped'
    ? t('app.progress.stopped')
    : t('app.progress.complete', { count: answer.text.split(/\s+/).filter(Boolean).length })
