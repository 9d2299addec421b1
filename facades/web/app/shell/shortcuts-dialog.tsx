import { t } from '../shared/text/labels.ts'
import { FormDialog } from '../shared/ui/form-dialog.tsx'
import styles from './shortcuts-dialog.module.css'

const control = navigator.platform.startsWith('Mac') ? '⌘' : t('app.keys.control')

/** The shortcuts, by their labels: keys that are pressed together, or one instead of the other. */
const shortcuts: readonly (readonly [label: string, keys: readonly (readonly string[])[]])[] = [
  ['app.chat.new', [[control, t('app.keys.shift'), 'O']]],
  ['app.shortcuts.search', [[control, 'K']]],
  ['app.shortcuts.editLast', [['↑']]],
  ['app.shortcuts.newLine', [[t('app.keys.shift'), t('app.keys.enter')]]],
  ['app.shortcuts.ends', [[t('app.keys.home')], [t('app.keys.end')]]],
  ['app.shortcuts.rows', [['↑'], ['↓']]],
  ['app.shortcuts.rowMenu', [['→']]],
  ['app.shortcuts.favourite', [['*']]],
  ['app.shortcuts.list', [['?'], [control, '/']]],
]

/** Lists the shortcuts. */
export const ShortcutsDialog = ({ close }: { close: () => void }) => (
  <FormDialog title={t('app.shortcuts')} close={close}>
    <dl className={styles.shortcuts}>
      {shortcuts.map(([label, choices]) => (
        <div key={label}>
          <dt>{t(label)}</dt>
          <dd>
            {choices.map((keys, index) => (
              <span key={keys.join()}>
                {index > 0 && ` ${t('app.keys.or')} `}
                {keys.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </span>
            ))}
          </dd>
        </div>
      ))}
    </dl>
  </FormDialog>
)
