import { type ComponentProps, createContext, type ReactNode, useContext } from 'react'
import { api, type Model } from '../../shared/api/client.ts'
import { t } from '../../shared/text/labels.ts'
import { Field } from '../../shared/ui/field.tsx'
import { useRecords } from '../admin-queries.ts'
import type { Provider } from './catalogue.ts'

export type Origins = NonNullable<Awaited<ReturnType<typeof api.models.origins.query>>>
export type Origin = Origins['models'][number]

/** The lines at which the file that AI_CONFIG names says something; its file is undefined where there is none. */
export function useOrigins() {
  const { data } = useRecords(['origins'], (signal) => api.models.origins.query(undefined, { signal }))
  const find = (kind: 'models' | 'providers', id: string) => data?.[kind].find((each) => each.id === id)
  return {
    file: data?.file,
    ofModel: ({ modelId }: Pick<Model, 'modelId'>) => find('models', modelId),
    ofProvider: ({ providerId }: Pick<Provider, 'providerId'>) => find('providers', providerId),
    ofTask: (usageType: 'main' | 'external', task: string) => data?.tasks[usageType].find(({ id }) => id === task),
  }
}

/** Names in the catalogue for members of the file, where they differ. */
const attributeNames: Record<string, string> = {
  ...{ id: 'modelId', external: 'usageTypes' },
  ...{ timeouts: 'settings', circuit: 'settings', continuousUsage: 'settings' },
}

/** The line of the file in which an attribute is set; undefined where nothing there says it. */
export const findLine = (origin: Origin | undefined, attribute: string) =>
  origin?.members.find(({ name }) => (attributeNames[name] ?? name) === attribute)?.line

/** Leaves out what the file owns: it stands in fields that nobody can change. */
export const omitFileOwned = <Change extends object>(origin: Origin | undefined, change: Change): Change =>
  Object.fromEntries(Object.entries(change).filter(([name]) => findLine(origin, name) === undefined)) as Change

const OriginContext = createContext<Origin | undefined>(undefined)

/** Says to the forms inside which entry of the file, if any, owns what they change. */
export const OriginProvider = OriginContext

/** The members of the shown row that the file of AI_CONFIG owns. */
export const useOrigin = () => useContext(OriginContext)

/** The fields of an attribute: where the file sets it they say in which line, and nobody can change them. */
export function FileOwned({ attribute, children }: { attribute: string; children: ReactNode }) {
  const line = findLine(useOrigin(), attribute)
  if (line === undefined) return children
  return (
    <fieldset className="owned" disabled>
      {children}
      <p className="hint">{t('app.admin.ownedBy', { line })}</p>
    </fieldset>
  )
}

/** A field for the attribute of its name, disabled where the file sets that. */
export const OwnedField = (props: ComponentProps<typeof Field> & { name: string }) => (
  <FileOwned attribute={props.name}>
    <Field {...props} />
  </FileOwned>
)

interface FileNoteProps {
  origin: Origin | undefined
  file: string | undefined
}

/** Says where the entry of a row stands; nothing where the row was made here and no file could be meant. */
export function describeOrigin({ origin, file }: FileNoteProps): string | undefined {
  if (!file) return undefined
  return origin ? t('app.admin.inFile', { file, line: origin.line }) : t('app.admin.fromHere')
}
