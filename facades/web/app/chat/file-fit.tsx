import type { Attachment } from '../shared/attachment.ts'
import { useModelHistory } from '../shared/models/model-history.ts'
import type { ChatModel } from '../shared/models/models.ts'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import type { DescribeObstacle } from '../shared/upload-list.tsx'

type FileKind = Pick<Attachment, 'fileType'>

const takesFiles = ({ settings }: ChatModel): boolean => settings?.fileUpload !== false

/** Returns true if a model gets a file, or its text. */
export const canTake = (model: ChatModel, { fileType }: FileKind): boolean =>
  takesFiles(model) && (fileType !== 'image' || model.input.includes('image'))

/** Returns a model that gets a file: one of those used last, the default, or the first one. */
function findModelFor(file: FileKind, models: readonly ChatModel[], recent: readonly string[]): ChatModel | undefined {
  const able = models.filter((model) => !model.assistant && canTake(model, file) && model.status !== 'offline')
  const last = recent.flatMap((id) => able.find(({ modelId }) => modelId === id) ?? [])[0]
  return last ?? able.find(({ isDefault }) => isDefault) ?? able[0]
}

const pictureLabels = { known: 'app.files.noPictures', nobody: 'app.files.noPictures.nobody' } as const
const fileLabels = { known: 'app.files.noFiles', nobody: 'app.files.noFiles.nobody' } as const

export interface ModelChoice {
  models: readonly ChatModel[] | undefined
  /** The model that will be asked. */
  model: ChatModel | undefined
  choose: (modelId: string) => void
}

/** Returns a function that says of a file that the model gets nothing of it, with another model that does. */
export function useFileFit({ models = [], model, choose }: ModelChoice): DescribeObstacle {
  const { history } = useModelHistory()
  return (file) => {
    if (!model || canTake(model, file)) return undefined
    const other = findModelFor(file, models, history.recent)
    const { known, nobody } = takesFiles(model) ? pictureLabels : fileLabels
    return (
      <>
        {t(other ? known : nobody, { model: model.label })}
        {other && (
          <Button kind="plain" onClick={() => choose(other.modelId)}>
            {t('app.files.useModel', { model: other.label })}
          </Button>
        )}
      </>
    )
  }
}
