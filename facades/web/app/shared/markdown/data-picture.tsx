import { lazy, Suspense, useState } from 'react'
import { saveAddress } from '../save-file.ts'
import { t } from '../text/labels.ts'

const PictureDialog = lazy(async () => ({ default: (await import('./picture-dialog.tsx')).PictureDialog }))

/** A picture in the text of a model, which can be enlarged and saved. */
export function DataPicture({ href, text }: { href: string; text: string }) {
  const [isOpen, setOpen] = useState(false)
  const save = () => saveAddress(href, `picture.${findType(href)}`)
  return (
    <>
      <button type="button" className="picture" title={t('app.picture.enlarge')} onClick={() => setOpen(true)}>
        <img src={href} alt={text} />
      </button>
      {isOpen && (
        <Suspense>
          <PictureDialog title={text || t('app.picture')} save={save} close={() => setOpen(false)}>
            <img className="large-picture" src={href} alt={text} />
          </PictureDialog>
        </Suspense>
      )}
    </>
  )
}

/** The type of a picture in its address, which is also the ending of its file. */
const findType = (href: string) => /^data:image\/(\w+)/.exec(href)?.[1] ?? 'png'
