import { lazy, Suspense, useState } from 'react'
import { focusField } from '../shared/conversation/composer.tsx'
import type { ChatModel } from '../shared/models/models.ts'
import { t } from '../shared/text/labels.ts'
import { IconButton } from '../shared/ui/icon-button.tsx'
import type { ComparedModel } from './comparison.ts'

const CompareBar = lazy(async () => ({ default: (await import('./compare-bar.tsx')).CompareBar }))

/** The choice of a second model for the next question. */
export function useCompareChoice(models: readonly ChatModel[] | undefined, model: ChatModel | undefined) {
  const [choice, setChoice] = useState<Partial<ComparedModel>>()
  const other = models?.find(({ modelId }) => modelId !== model?.modelId)
  const compared = choice && other && { modelId: other.modelId, isBlind: false, ...choice }
  const clear = () => setChoice(undefined)
  const end = () => {
    clear()
    focusField('chat')
  }
  const button = other && (
    <IconButton
      icon="compare"
      label={t('app.compare')}
      aria-pressed={compared !== undefined}
      onClick={() => setChoice(choice ? undefined : {})}
    />
  )
  const bar = models && compared && (
    <Suspense>
      <CompareBar
        models={models}
        compared={compared}
        change={(change) => setChoice({ ...choice, ...change })}
        end={end}
      />
    </Suspense>
  )
  return { compared, clear, button, bar }
}
