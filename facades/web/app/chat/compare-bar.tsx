import { PickerButton } from '../shared/models/model-button.tsx'
import type { ChatModel } from '../shared/models/models.ts'
import { t } from '../shared/text/labels.ts'
import { getButtonClass } from '../shared/ui/button.tsx'
import { Choice } from '../shared/ui/choice.tsx'
import { joinClasses } from '../shared/ui/class-names.ts'
import { Icon } from '../shared/ui/icon.tsx'
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

/** Chooses the model whose answer will stand beside the other, and says what that costs and who reads the chat for it. */
export function CompareBar({ models, compared, change, end }: CompareBarProps) {
  const model = models.find(({ modelId }) => modelId === compared.modelId)
  const base = model?.assistant?.base ?? model
  const name = model?.label ?? t('app.model.none')
  return (
    <Notice role="group" aria-label={t('app.compare')} className={styles.bar}>
      <div className={styles.head}>
        <span>{t('app.compare.with')}</span>
        <PickerButton
          models={models}
          model={model}
          choose={(modelId) => change({ modelId })}
          label={t('app.compare.second.model', { name })}
          className={joinClasses(getButtonClass(), styles.model)}
        >
          <span>{name}</span>
          <Icon name="chevron" />
        </PickerButton>
        <IconButton icon="close" label={t('app.compare.end')} onClick={end} />
      </div>
      <Choice
        label={t('app.compare.blind')}
        checked={compared.isBlind}
        onChange={({ target }) => change({ isBlind: target.checked })}
      />
      <p className="hint">{t('app.compare.cost', { provider: base?.providerName ?? '' })}</p>
    </Notice>
  )
}
