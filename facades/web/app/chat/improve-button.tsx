import { useState } from 'react'
import { t } from '../shared/text/labels.ts'
import { IconButton } from '../shared/ui/icon-button.tsx'
import { runTask, useTask } from './tasks.ts'

interface ImproveButtonProps {
  text: string
  write: (text: string) => void
  fail: (error: unknown) => void
}

/** Has a question put in better words, and takes that back. Not there where no model does it. */
export function ImproveButton({ text, write, fail }: ImproveButtonProps) {
  const task = useTask('prompt_improvement')
  const [isWorking, setWorking] = useState(false)
  const [change, setChange] = useState<{ before: string; after: string }>()
  if (!task || text.trim() === '') return null
  if (change?.after === text)
    return <IconButton icon="undo" label={t('app.improve.undo')} onClick={() => write(change.before)} />
  const improve = async () => {
    setWorking(true)
    try {
      const after = await runTask(task, [{ role: 'user', content: [{ type: 'text', text }] }])
      setChange({ before: text, after })
      write(after)
    } catch (error) {
      fail(error)
    } finally {
      setWorking(false)
    }
  }
  return <IconButton icon="sparkle" label={t('app.improve')} disabled={isWorking} onClick={improve} />
}
