import { PickerButton } from '../shared/models/model-button.tsx'
import type { ChatModel } from '../shared/models/models.ts'
import { t } from '../shared/text/labels.ts'
import { getButtonClass } from '../shared/ui/button.tsx'
import { Choice } from '../shared/ui/choice.tsx'
import { IconButton } from '../shared/ui/icon-button.tsx'
import { Notice } from '../shared/ui/notice.tsx'
import styles from './compare-bar.module.css'
import type { ComparedModel } from './comparison.ts'

interface CompareBarProps {
  models: readonly ChatModel[]
  compared: ComparedModel
  change: (change: Partial<ComparedModel>) => void
  /** Leaves it at one answer. */
  end: () => void
}

/** Chooses the model whose answer will stand beside the other, and says what that costs. */
export function CompareBar({ models, compared, change, end }: CompareBarProps) {
  const model = models.find(({ modelId }) => modelId === compared.modelId)
  const name = model?.label ?? t('app.model.none')
  return (
    <Notice role="group" aria-label={t('app.compare')} className={styles.bar}>
      <span>{t('app.compare.with')}</span>
      <PickerButton
        models={models}
        model={model}
        choose={(modelId) => change({ modelId })}
        label={t('app.compare.second.model', { name })}
        className={getButtonClass()}
      >
        {name}
      </PickerButton>
      <Choice
        label={t('app.compare.blind')}
        checked={compared.isBlind}
        onChange={({ target }) => change({ isBlind: target.checked })}
      />
      <span className="hint">{t('app.compare.cost')}</span>
      <IconButton icon="close" label={t('app.compare.end')} onClick={end} />
    </Notice>
  )
}
