// SPDX-License-Identifier: Apache-2.0
// Reads files with netCDF-Java: prints "FILE<tab>variable<tab>dimensions<tab>value value ..." for each that has numbers, once.
import java.util.*;
import ucar.ma2.*;
import ucar.nc2.*;

public class NetcdfRead {
  public static void main(String[] paths) throws Exception {
    for (String path : paths) {
      try (NetcdfFile file = NetcdfFile.open(path)) {
        for (Variable variable : file.getVariables()) {
          if (variable.getDataType().isNumeric()) System.out.println(line(path, variable));
        }
      }
    }
  }

  static String line(String path, Variable variable) throws Exception {
    StringBuilder text = new StringBuilder(path + "\t" + variable.getFullName() + "\t" + variable.getDimensionsString() + "\t");
    IndexIterator values = variable.read().getIndexIterator();
    while (values.hasNext()) text.append(values.getDoubleNext()).append(' ');
    return text.toString();
  }
}
