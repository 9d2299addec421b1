import { createContext, type ReactNode, useContext } from 'react'
import { api, type Model } from '../../shared/api/client.ts'
import { t } from '../../shared/text/labels.ts'
import { useRecords } from '../admin-queries.ts'
import type { Provider } from './catalogue.ts'
import styles from './config-file.module.css'

type Origins = NonNullable<Awaited<ReturnType<typeof api.models.origins.query>>>
export type Origin = Origins['models'][number]

/**
 * Reads the positions in the AI_CONFIG file at which models, providers and tasks are declared; `file` is undefined
 * without such a file.
 */
export function useOrigins() {
  const { data } = useRecords(['origins'], (signal) => api.models.origins.query(undefined, { signal }))
  const find = (kind: 'models' | 'providers', id: string) => data?.[kind].find((each) => each.id === id)
  return {
    file: data?.file,
    findModelOrigin: ({ modelId }: Pick<Model, 'modelId'>) => find('models', modelId),
    findProviderOrigin: ({ providerId }: Pick<Provider, 'providerId'>) => find('providers', providerId),
    findTaskOrigin: (usageType: 'main' | 'external', task: string) =>
      data?.tasks[usageType].find(({ id }) => id === task),
  }
}

/** The attributes of the catalogue that differ from the names in the file. */
const attributeNames: Record<string, string> = {
  id: 'modelId',
  external: 'usageTypes',
  timeouts: 'settings',
  circuit: 'settings',
  continuousUsage: 'settings',
}

/** Returns the line of the file that sets an attribute; undefined if none does. */
export const findLine = (origin: Origin | undefined, attribute: string) =>
  origin?.members.find(({ name }) => (attributeNames[name] ?? name) === attribute)?.line

const OriginContext = createContext<Origin | undefined>(undefined)

/** Provides the entry of the file that declares the edited record, if there is one. */
export const OriginProvider = OriginContext

/** Returns the entry of the file that declares the edited record. */
export const useOrigin = () => useContext(OriginContext)

/** Disables the fields of an attribute that the file sets, and names the line. */
export function FileOwned({ attribute, children }: { attribute: string; children: ReactNode }) {
  const line = findLine(useOrigin(), attribute)
  if (line === undefined) return children
  return (
    <fieldset className={styles.owned} disabled>
      {children}
      <p className="hint">{t('app.admin.ownedBy', { line: `${line}` })}</p>
    </fieldset>
  )
}

interface FileNoteProps {
  origin: Origin | undefined
  file: string | undefined
}

/** Describes the origin of a record; undefined if there is no configuration file. */
export function describeOrigin({ origin, file }: FileNoteProps): string | undefined {
  if (!file) return undefined
  return origin ? t('app.admin.inFile', { file, line: `${origin.line}` }) : t('app.admin.fromHere')
}
