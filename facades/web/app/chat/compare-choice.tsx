import { lazy, Suspense, useState } from 'react'
import type { ChatModel } from '../shared/models/models.ts'
import { t } from '../shared/text/labels.ts'
import { IconButton } from '../shared/ui/icon-button.tsx'
import type { ComparedModel } from './comparison.ts'

const CompareBar = lazy(async () => ({ default: (await import('./compare-bar.tsx')).CompareBar }))

/** The choice of a second model for the next question. */
export function useCompareChoice(models: readonly ChatModel[] | undefined, model: ChatModel | undefined) {
  const [compared, setCompared] = useState<ComparedModel>()
  const other = models?.find(({ modelId }) => modelId !== model?.modelId)
  const button = models && other && (
    <IconButton
      icon="compare"
      label={t('app.compare')}
      aria-pressed={compared !== undefined}
      onClick={() => setCompared(compared ? undefined : { modelId: other.modelId, isBlind: false })}
    />
  )
  const bar = models && compared && (
    <Suspense>
      <CompareBar models={models} compared={compared} change={setCompared} />
    </Suspense>
  )
  return { compared, clear: () => setCompared(undefined), button, bar }
}
