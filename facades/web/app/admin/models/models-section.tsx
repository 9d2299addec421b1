import { ModelList } from './model-list.tsx'
import { ModelPage } from './model-page.tsx'

export const ModelsSection = ({ id }: { id?: string | undefined }) =>
  id === undefined ? <ModelList /> : <ModelPage id={id} />
