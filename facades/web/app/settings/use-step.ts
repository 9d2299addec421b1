import { useRef, useState } from 'react'
import { errorText } from '../shared/api/error-text.ts'
import { t } from '../shared/text/labels.ts'

export interface StepState {
  isBusy: boolean
  /** How it went, in words. */
  outcome: string
  isWrong: boolean
}

const idle: StepState = { isBusy: false, outcome: '', isWrong: false }

/** Carries out one step at a time and tells how it went; the text that a step resolves with is its outcome. */
export function useStep() {
  const [state, setState] = useState(idle)
  const isRunning = useRef(false)
  const run = async (step: () => Promise<string | undefined>): Promise<void> => {
    if (isRunning.current) return
    isRunning.current = true
    setState({ isBusy: true, outcome: t('page.working'), isWrong: false })
    try {
      setState({ ...idle, outcome: (await step()) ?? '' })
    } catch (error) {
      setState({ isBusy: false, outcome: errorText(error), isWrong: true })
    } finally {
      isRunning.current = false
    }
  }
  /** What was said of other values does not hold for these. */
  const clear = () => setState((before) => (before.isBusy ? before : idle))
  return { ...state, run, clear }
}
