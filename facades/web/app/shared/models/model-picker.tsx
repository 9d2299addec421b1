import { Combobox } from '@base-ui/react/combobox'
import { type KeyboardEvent, type MouseEvent, type ReactNode, useState } from 'react'
import { t } from '../text/labels.ts'
import { joinClasses } from '../ui/class-names.ts'
import { InlineError } from '../ui/error-message.tsx'
import { Icon } from '../ui/icon.tsx'
import { Input } from '../ui/input.tsx'
import { MenuLayer, MenuNote, MenuRow, MenuSurface } from '../ui/menu-parts.tsx'
import { toggleFavouriteAssistant } from './assistants.ts'
import { describeModel } from './model-facts.ts'
import { groupModels, type ModelGroup } from './model-groups.ts'
import { useModelHistory } from './model-history.ts'
import styles from './models.module.css'
import type { ChatModel } from './models.ts'

export interface ModelPickerProps {
  models: readonly ChatModel[] | undefined
  /** The model that is chosen now; undefined if there is none. */
  model: ChatModel | undefined
  choose: (modelId: string) => void
  /** The accessible name of the button. */
  label: string
  className: string | undefined
  /** The content of the button. */
  children: ReactNode
}

/** Chooses a model from a searchable list, which is open when it is mounted. */
export function ModelPicker({ models = [], model, choose, label, className, children }: ModelPickerProps) {
  const { history, error, toggleFavourite } = useFavourites()
  // The order stays while the list is open, so that no model moves away from the pointer.
  const [groups, setGroups] = useState(() => groupModels(models, history))
  const [highlighted, setHighlighted] = useState<ChatModel>()
  const toggleOnKey = (event: KeyboardEvent) => {
    if (event.key !== FAVOURITE_KEY || !highlighted) return
    event.preventDefault()
    toggleFavourite(models.find(({ modelId }) => modelId === highlighted.modelId) ?? highlighted)
  }
  return (
    <Combobox.Root
      defaultOpen
      items={groups}
      value={model ?? null}
      onValueChange={(selected: ChatModel | null) => selected && choose(selected.modelId)}
      onOpenChange={(isOpen) => isOpen && setGroups(groupModels(models, history))}
      onItemHighlighted={setHighlighted}
      itemToStringLabel={({ label: name }: ChatModel) => name}
      isItemEqualToValue={(one: ChatModel, other: ChatModel) => one.modelId === other.modelId}
      filter={isMatch}
      autoHighlight
    >
      <Combobox.Trigger className={className} aria-label={label} title={label}>
        {children}
      </Combobox.Trigger>
      <Combobox.Portal>
        <Combobox.Positioner align="end" sideOffset={4} render={<MenuLayer />}>
          <Combobox.Popup render={<MenuSurface className={styles.popup} />} aria-label={t('app.model')}>
            <Combobox.Input
              render={<Input />}
              placeholder={t('app.model.search')}
              aria-label={t('app.model.search')}
              onKeyDown={toggleOnKey}
            />
            <Combobox.Empty>
              <MenuNote>{t('app.model.nothing')}</MenuNote>
            </Combobox.Empty>
            <Combobox.List>
              {(group: ModelGroup) => (
                <Combobox.Group key={group.name} items={group.items}>
                  <Combobox.GroupLabel className={styles.heading}>{group.name}</Combobox.GroupLabel>
                  <Combobox.Collection>
                    {(each: ChatModel) => (
                      <ModelItem
                        key={each.modelId}
                        model={each}
                        showsProvider={group.isMixed}
                        isFavourite={isFavourite(each, models, history.favourites)}
                        toggleFavourite={toggleFavourite}
                      />
                    )}
                  </Combobox.Collection>
                </Combobox.Group>
              )}
            </Combobox.List>
            <MenuNote>
              {t('app.model.favouriteKey')} <InlineError error={error} />
            </MenuNote>
          </Combobox.Popup>
        </Combobox.Positioner>
      </Combobox.Portal>
    </Combobox.Root>
  )
}

/** Marks models and assistants as favourites; `error` is why that failed. */
function useFavourites() {
  const { history, toggleFavourite: toggleModel } = useModelHistory()
  const [error, setError] = useState<unknown>()
  const toggleFavourite = ({ modelId, assistant }: ChatModel) => {
    setError(undefined)
    if (assistant) toggleFavouriteAssistant(assistant).catch(setError)
    else toggleModel(modelId)
  }
  return { history, error, toggleFavourite }
}

/** The list keeps its order while it is open, so what is marked is read from the models of now. */
function isFavourite({ modelId }: ChatModel, models: readonly ChatModel[], favourites: readonly string[]): boolean {
  const { assistant } = models.find((each) => each.modelId === modelId) ?? {}
  return assistant ? assistant.isFavorite : favourites.includes(modelId)
}

/** Marks the highlighted model as a favourite, or unmarks it. No name of a model has this character. */
const FAVOURITE_KEY = '*'

interface ModelItemProps {
  model: ChatModel
  showsProvider: boolean
  isFavourite: boolean
  toggleFavourite: (model: ChatModel) => void
}

function ModelItem({ model, showsProvider, isFavourite, toggleFavourite }: ModelItemProps) {
  const facts = describeModel(model)
  // An option contains no button, so a click on its star is told by its target.
  const toggleByStar = (event: MouseEvent & { preventBaseUIHandler: () => void }) => {
    if (!(event.target as Element).closest(`.${styles.star}`)) return
    event.preventBaseUIHandler()
    toggleFavourite(model)
  }
  return (
    <Combobox.Item value={model} render={<MenuRow className={styles.model} />} onClick={toggleByStar}>
      <span className={styles.name}>
        {model.label}
        {model.isDefault && <span className={styles.badge}>{t('app.model.default')}</span>}
      </span>
      <span className={styles.star} data-marked={isFavourite || undefined} title={t('app.model.favourite')}>
        <Icon name="star" />
        {isFavourite && <span className="off-screen">{t('app.model.isFavourite')}</span>}
      </span>
      <span className="hint">{(showsProvider ? [model.providerName, ...facts] : facts).join(' · ')}</span>
      {model.description && <span className={joinClasses('hint', styles.description)}>{model.description}</span>}
    </Combobox.Item>
  )
}

/** Returns true if a model has each word of the query in its name or that of its provider. */
function isMatch({ label, modelId, providerName }: ChatModel, query: string): boolean {
  const text = `${label} ${modelId} ${providerName}`.toLowerCase()
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}
